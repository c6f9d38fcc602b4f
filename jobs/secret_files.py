"""Secrets that lie in files: what ``${file:PATH}`` in the configuration stands for.

A path that is not absolute is looked up in the folder that systemd's ``LoadCredential`` names, else beside the
configuration file. Secrets of Docker and Kubernetes are files too, with absolute paths.
"""

import stat
from collections.abc import Iterator, Mapping
from pathlib import Path

PREFIX = "file:"
MOST_BYTES = 64 * 1024
"""No key is longer; what is, is not read."""


class WithSecretFiles(Mapping[str, str]):
    """An environment in which ``file:PATH`` is the content of a file, without blanks and line breaks around it.

    ``asked`` are the files that were asked for, ``exposed`` those that every user of this machine can read.
    """

    def __init__(self, environ: Mapping[str, str], beside: Path) -> None:
        self._environ = environ
        self._folder = Path(environ.get("CREDENTIALS_DIRECTORY") or beside)
        self.asked: list[Path] = []
        self.exposed: list[Path] = []

    def __getitem__(self, name: str) -> str:
        """The value. Raises KeyError when there is none, or the file cannot be read as text."""
        if not name.startswith(PREFIX):
            return self._environ[name]
        path = self._folder / name.removeprefix(PREFIX)
        if path not in self.asked:
            self.asked.append(path)
        try:
            with path.open("rb") as file:  # a device has no size and no end
                data = file.read(MOST_BYTES + 1)
            if len(data) > MOST_BYTES:
                raise KeyError(name)
            text = data.decode()
            if path.stat().st_mode & stat.S_IROTH and path not in self.exposed:
                self.exposed.append(path)
        except (OSError, UnicodeDecodeError, ValueError):
            raise KeyError(name) from None
        return text.strip()

    def __iter__(self) -> Iterator[str]:
        """Names of the environment; files are not listed."""
        return iter(self._environ)

    def __len__(self) -> int:
        """How many names the environment has."""
        return len(self._environ)
