"""Conditional writes to an object store by obstore; pyarrow has none.

A condition makes a commit safe: of two writers that saw the same state, the store refuses one.
"""

from collections.abc import Callable, Generator, Iterator, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Protocol
from urllib.parse import parse_qs, unquote, urlsplit

from namekeeper.pipeline.errors import WarehouseError
from namekeeper.pipeline.files.file import READ_BYTES, File, LoadedFiles, Versioned

if TYPE_CHECKING:
    from obstore import ObjectMeta
    from obstore.store import ObjectStore as Client
    from obstore.store import RetryConfig, S3Config

__all__ = ["ConditionalWrites", "ObjectStore", "open_object_store"]

LISTED_AT_ONCE = 1_000
"""Objects in one answer of a listing; no store has more."""

_RETRYING = timedelta(seconds=60)
"""Much shorter than a lease, so that its renewal can fail and be tried again before it ends."""
_ADVICE = (
    "so two runs could overwrite each other: use a store with conditional writes (S3, GCS, ABFS, MinIO), or a"
    " folder of this machine"
)


class ConditionalWrites(Protocol):
    """Writes of which one succeeds, however many writers try at the same time."""

    def put_new(self, path: str, data: bytes) -> bool:
        """Create a file atomically, or return False because there is one of this name.

        Raises:
            WarehouseError: The file system has no such write.
            OSError: It failed. The file may have been written.
        """

    def read_versioned(self, path: str) -> Versioned | None:
        """Content and version of a small file; None if it is not there."""

    def put_if_unchanged(self, path: str, data: bytes, version: object) -> bool:
        """Replace a file atomically, or return False because it has another version or is gone.

        Raises:
            WarehouseError: The file system has no such write.
            OSError: It failed. The file may have been written.
        """


class ObjectStore:
    """The objects below one prefix of a bucket.

    The first write of each kind is repeated: a store that takes it twice ignores conditions.
    """

    def __init__(self, uri: str, client: "Client") -> None:
        self._uri = uri
        self._client = client
        self._kept: set[str] = set()
        """Conditions that the store has kept."""

    def put_new(self, path: str, data: bytes) -> bool:
        """Create an object, or return False because there is one of this name.

        Raises:
            WarehouseError: The store does not keep the condition.
            OSError: It can't be reached, or refuses the request. The object may have been written.
        """
        return self._checked("If-None-Match", lambda: self._put(path, data, "create"))

    def read_versioned(self, path: str) -> Versioned | None:
        """Content and version of an object; None if it is not there.

        Raises:
            OSError: It can't be read.
        """
        from obstore.exceptions import BaseError

        try:
            found = self._client.get(path)
            meta = found.meta
            if meta["size"] > READ_BYTES:
                raise OSError(f"{self._uri}/{path} has more than {READ_BYTES} bytes: move it away")
            version = {name: meta[name] for name in ("e_tag", "version") if meta.get(name)}
            return Versioned(bytes(found.bytes()), version)
        except FileNotFoundError:
            return None
        except BaseError as error:
            raise OSError(f"{self._uri}/{path} can't be read: {_first_line(error)}") from error

    def put_if_unchanged(self, path: str, data: bytes, version: object) -> bool:
        """Replace an object, or return False because it has another version, or is gone.

        Raises:
            WarehouseError: The store does not keep the condition.
            OSError: It can't be reached, or refuses the request. The object may have been written.
        """
        return self._checked("If-Match", lambda: self._put(path, data, version))

    def files_but(self, known: LoadedFiles) -> Iterator[File]:
        """Objects in the order of their names, but those that are known.

        After each full answer the next one may start later, where `end_after` allows it.

        Raises:
            OSError: They can't be listed.
        """
        start: str | None = ""
        while start is not None:
            start = yield from self._files_from(start, known)

    def _files_from(self, start: str, known: LoadedFiles) -> Generator[File, None, str | None]:
        """Objects after a name; returns the name after which the listing goes on, None at its end."""
        for metas in self._pages(start):
            for meta in metas:
                if not known.has(meta["path"].rpartition("/")[2]):
                    yield File(meta["path"], meta["size"], int(meta["last_modified"].timestamp() * 1_000))
            is_full = len(metas) == LISTED_AT_ONCE
            if is_full and (end := known.end_after(metas[-1]["path"])) is not None:
                return end
        return None

    def _pages(self, start: str) -> Iterator[Sequence["ObjectMeta"]]:
        from obstore.exceptions import BaseError

        try:
            yield from self._client.list(offset=start or None, chunk_size=LISTED_AT_ONCE)
        except BaseError as error:
            raise OSError(f"{self._uri} can't be listed: {_first_line(error)}") from error

    def _checked(self, condition: str, write: Callable[[], bool]) -> bool:
        is_written = write()
        if is_written and condition not in self._kept:
            if write():
                raise WarehouseError(f"{self._uri}: this store ignores {condition}, {_ADVICE}")
            self._kept.add(condition)
        return is_written

    def _put(self, path: str, data: bytes, mode: object) -> bool:
        from obstore.exceptions import AlreadyExistsError, BaseError, NotSupportedError, PreconditionError

        try:
            self._client.put(path, data, mode=mode)  # type: ignore[arg-type]
        except (AlreadyExistsError, PreconditionError):
            return False
        except (BaseError, FileNotFoundError, NotImplementedError) as error:
            cause = _first_line(error)
            if isinstance(error, NotSupportedError | NotImplementedError) or "501 Not Implemented" in cause:
                raise WarehouseError(
                    f"{self._uri}: this store has no conditional writes, {_ADVICE}"
                ) from error
            raise OSError(f"{self._uri}/{path} can't be written: {cause}") from error
        return True


def open_object_store(uri: str, path: str, region: str | None = None) -> ObjectStore:
    """The objects below the prefix of a URI.

    Args:
        uri: As pyarrow takes it: the parts of its query that obstore needs too are passed on.
        path: Bucket and prefix, as pyarrow has read them from the URI.
        region: Region of an S3 bucket.

    Raises:
        WarehouseError: obstore is not installed, or does not know the scheme.
    """
    try:
        from obstore.exceptions import BaseError
        from obstore.store import GCSStore, S3Store, from_url
    except ImportError as error:
        raise WarehouseError(
            f"{uri}: writing a warehouse in an object store needs obstore, which is not installed here: pip"
            " install obstore where the driver runs"
        ) from error
    scheme, (bucket, _, prefix) = urlsplit(uri).scheme, path.partition("/")
    retrying: RetryConfig = {"retry_timeout": _RETRYING}
    client: Client
    try:
        if scheme in {"s3", "s3a", "s3n"}:
            # A plain http endpoint is the user's decision, which pyarrow follows too.
            client = S3Store(
                bucket, prefix=prefix or None, config=_s3_settings(uri, region),
                client_options={"allow_http": True}, retry_config=retrying,
            )  # fmt: skip
        elif scheme in {"gs", "gcs"}:
            client = GCSStore(bucket, prefix=prefix or None, retry_config=retrying)
        else:
            client = from_url(uri, retry_config=retrying)
    except (BaseError, ValueError) as error:
        raise WarehouseError(f"{uri} can't be opened for writing: {_first_line(error)}") from error
    return ObjectStore(uri, client)


def _s3_settings(uri: str, region: str | None) -> "S3Config":
    """Settings that a URI of pyarrow's has; everything else comes from the environment."""
    parts = urlsplit(uri)
    query = {name: values[-1] for name, values in parse_qs(parts.query).items()}
    settings: S3Config = {}
    if region:
        settings["region"] = region
    if parts.username and parts.password:
        settings["access_key_id"] = unquote(parts.username)
        settings["secret_access_key"] = unquote(parts.password)
    if endpoint := query.get("endpoint_override"):
        settings["endpoint"] = (
            endpoint if "://" in endpoint else f"{query.get('scheme', 'https')}://{endpoint}"
        )
    return settings


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0]
