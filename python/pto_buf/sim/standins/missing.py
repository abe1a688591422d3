"""What a script asks of a stand-in that it does not have."""


class Missing(AttributeError):
    """Names the package to install. An AttributeError, so that `hasattr` and `getattr` with a default work."""

    def __init__(self, package: str, what: str):
        super().__init__(f"{what} is not among what stands in for {package} here; install {package} to use it")
        self.package = package
