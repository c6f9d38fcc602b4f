"""What a provider might serve instead of the golden weights: one file per scheme, with a constant ``VARIANT``.

Beside the schemes stand what turns them into something to load or to serve (`hf_folder`, `gguf_file`, `loaded`), and
`from_gguf`, which makes golden folders.
"""
