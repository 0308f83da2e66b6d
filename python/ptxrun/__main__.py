"""``python -m ptxrun``: the command."""

from ._command import main

main()
