from pipeline.memo import Each


def each(seen, small=lambda item: True):
    """Lengths of lists, and in ``seen`` those that were looked at."""
    return Each(lambda item: seen.append(item) or len(item), small)


def test_what_was_given_for_an_object_is_remembered_by_identity():
    one, two, seen = [1], [1], []
    lengths = each(seen)
    assert lengths([one, two, one]) == [1, 1, 1]
    assert lengths([two]) == [1]
    assert [id(item) for item in seen] == [id(one), id(two)]


def test_large_items_are_not_held():
    large, seen = [1, 2, 3], []
    lengths = each(seen, small=lambda item: len(item) < 3)
    assert lengths([large]) + lengths([large]) == [3, 3]
    assert seen == [large, large]


def test_it_holds_a_bounded_number_of_items():
    lengths = each([])
    items = [[number] for number in range(10_000)]
    assert lengths(items) == [1] * 10_000
    assert len(lengths._known) <= 256
