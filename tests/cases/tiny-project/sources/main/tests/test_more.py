import tiny_project


def test_where_it_lies():
    assert "site-packages" in tiny_project.__file__


def test_of_another_machine():
    raise OSError("another machine")
