"""Run the command line as ``python -m headgate.cli``."""

from headgate.cli.app import main

if __name__ == "__main__":
    main()
