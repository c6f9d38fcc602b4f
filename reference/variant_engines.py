"""Engines that compute as variants of the golden weights do: in this process, one after the other.

Weights are changed in the loaded golden model; another cache, rope or stack of layers is loaded from a folder that is
written and deleted again; another template or tokenizer makes other prompts for the golden weights. The golden model
and one variant are in memory at a time.
"""

import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Self

from reference.engines.local import LocalEngine
from reference.tokenizer import GoldenTokenizer
from reference.variants import hf_folder
from reference.variants.kv_cache import register
from reference.variants.loaded import varied
from reference.variants.variant import Variant

IN_MEMORY, AS_FOLDER = frozenset({"weights", "checkpoint"}), frozenset({"cache", "rope", "layers"})
"""What variants change (`reference.variants.variant.Part`), by how they are computed."""

OTHER_PROMPT = frozenset({"template", "tokenizer"})
"""Variants that show the golden weights another prompt."""


class VariantEngines:
    """The golden engine, loaded when it is first needed, and those of its variants. Close it, or use it as a context.

    ``load`` makes an engine of a folder, the golden one or that of a variant; ``options`` are further variables of the
    chat template, which variants of it see too.
    """

    def __init__(
        self, folder: Path, load: Callable[[Path], LocalEngine], *, options: Mapping[str, Any] = MappingProxyType({})
    ) -> None:
        self._folder, self._load, self._options = folder, load, options
        self._golden: list[LocalEngine] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Give the memory back. Idempotent."""
        while self._golden:
            self._golden.pop().close()

    def golden(self) -> LocalEngine:
        """Return the golden engine. It computes as a variant while a context of `of` is open."""
        if not self._golden:
            self._golden.append(self._load(self._folder))
        return self._golden[0]

    @contextmanager
    def of(self, variant: Variant) -> Iterator[LocalEngine]:
        """Let an engine answer and score as `variant` for the length of a context.

        Raises
        ------
        GoldenError
            When `variant` cannot be made of this model, or does not fit into memory.
        """
        if variant.changes in AS_FOLDER:
            with self._of_own_folder(variant) as engine:
                yield engine
        elif variant.changes in OTHER_PROMPT:
            yield replace(self.golden(), tokenizer=tokenizer_of(self._folder, variant, self._options))
        elif variant == Variant():
            yield self.golden()
        else:
            model: Any = getattr(self.golden().weights, "model", None)
            with varied(model, variant):
                yield self.golden()

    @contextmanager
    def _of_own_folder(self, variant: Variant) -> Iterator[LocalEngine]:
        register()
        with tempfile.TemporaryDirectory(prefix="weighmaster-") as name:
            folder = Path(name) / "variant"
            hf_folder.write(self._folder, folder, variant)
            engine = self._load(folder)
            try:
                yield engine
            finally:
                engine.close()


def tokenizer_of(golden: Path, variant: Variant, options: Mapping[str, Any]) -> GoldenTokenizer:
    """Return tokenizer and template of the folder `golden` as `variant` has them."""
    with tempfile.TemporaryDirectory(prefix="weighmaster-") as name:
        folder = Path(name)
        hf_folder.write_tokenizer(golden, folder, variant)
        for path in golden.glob("*config.json"):
            if not (folder / path.name).exists():
                shutil.copy(path, folder / path.name)
        return GoldenTokenizer.load(folder, options=options)
