"""As little as a wheel can hold that a test can ask something of."""


def answer() -> int:
    return 42
