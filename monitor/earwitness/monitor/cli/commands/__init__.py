"""One module a command; each has ``execute(arguments) -> int``."""
