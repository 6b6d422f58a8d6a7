"""Help of commands with many options, which stand in groups."""

from collections.abc import Mapping, Sequence

import click

__all__ = ["SectionedCommand"]

_SECTIONS: Mapping[str, Sequence[str]] = {
    "Where the history is": ("journals", "config_files", "addresses", "namesrv", "warehouse"),
    "Operators' pages": ("pages", "token"),
    "TLS and signatures": ("tls", "tls_ca", "tls_cert", "tls_key", "access_key", "secret_key"),
    "Spark": ("memory", "master", "remote", "settings"),
}
"""Names of options by the title of their group."""


class SectionedCommand(click.Command):
    """A command whose help has the options that many commands share in groups, behind its own."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options group by group."""
        titles = {name: title for title, names in _SECTIONS.items() for name in names}
        groups: dict[str, list[tuple[str, str]]] = {"Options": [], **{title: [] for title in _SECTIONS}}
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx)
            if record is not None:
                groups[titles.get(param.name or "", "Options")].append(record)
        for title, records in groups.items():
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)
