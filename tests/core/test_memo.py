from chatsquash.core.memo import Each


def each(seen, most=3):
    """Lengths of lists, of which those up to ``most`` are held; ``seen`` gets what was looked at."""
    return Each(lambda items: [seen.append(item) or len(item) for item in items], lambda length: length <= most)


def test_what_was_given_for_an_object_is_remembered_by_identity():
    one, two, seen = [1], [1], []
    lengths = each(seen)
    assert lengths([one, two]) == [1, 1]
    assert lengths([two, one, two]) == [1, 1, 1]
    assert [id(item) for item in seen] == [id(one), id(two)]


def test_large_results_are_not_held():
    small, large, seen = [1], [1, 2, 3], []
    lengths = each(seen, most=2)
    assert lengths([large, small]) + lengths([small, large]) == [3, 1, 1, 3]
    assert seen == [large, small, large]


def test_it_holds_a_bounded_number_of_items():
    lengths, items = each([]), [[number] for number in range(10_000)]
    for start in range(0, 10_000, 100):
        assert lengths(items[start : start + 100]) == [1] * 100
        assert len(lengths._known) <= 128
