"""Errors that a user can mend: one clear line that names the thing and says what to do."""


class BadInput(Exception):
    """Wrong use or bad input (a file, a setting, an unknown call); the command line exits with 2.

    ``where`` locates it (``alerts.yaml:14: rules[2].measure``); ``what`` says what is wrong and how to mend it.
    """

    def __init__(self, what: str, *, where: str | None = None) -> None:
        super().__init__(f"{where}: {what}" if where else what)
        self.where = where
        self.what = what
