"""``python -m pdwire_codegen``: the compiler without the rest of the package."""

from pdwire_codegen.cli import main

if __name__ == "__main__":
    main()
