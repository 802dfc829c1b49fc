// Made by scripts/build/print-program.mjs from .
