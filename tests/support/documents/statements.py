"""The statements of a module, without its expressions: most nodes of a tree are parts of expressions."""

import ast
from collections.abc import Iterator

__all__ = ["statements"]


def statements(tree: ast.AST) -> Iterator[ast.stmt]:
    """Find every statement inside, at any depth, in no particular order."""
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.stmt):
            yield node
        for name in ("body", "orelse", "finalbody", "handlers", "cases"):
            parts = getattr(node, name, None)
            if isinstance(
                parts, list
            ):  # the body of a lambda, and of a conditional expression, is an expression
                waiting += parts
