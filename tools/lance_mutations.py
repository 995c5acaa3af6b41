"""Soundness bugs of reading Lance tables."""

from __future__ import annotations

from mutation import Mutation

TASK, PREDICATE = "tests/read/test_task.py", "tests/read/test_predicate.py"
LANCE_MUTATIONS = (
    Mutation(
        "Lance: NULL is the id 0",
        "read/task.py",
        "    inside = np.asarray(column.is_valid())\n",
        "    inside = np.ones(len(column), dtype=bool)\n",
        (f"{TASK}::test_null_is_in_no_set",),
    ),
    Mutation(
        "Lance: numbers beyond 63 bits are negative ids",
        "read/task.py",
        "    if pa.types.is_uint64(column.type):",
        "    if column.type is None:",
        (f"{TASK}::test_numbers_beyond_63_bits_are_no_ids",),
    ),
    Mutation(
        "Lance: rows are not tested where Lance has tested them by ranges",
        "read/task.py",
        "            inside &= _contains(ids, batch.column(name))\n",
        "            inside &= np.asarray(batch.column(name).is_valid())\n",
        (f"{TASK}::test_sets_larger_than_the_table",),
    ),
    Mutation(
        "Lance: the newest version is read",
        "read/task.py",
        "dataset(uri, version=version, storage",
        "dataset(uri, version=None, storage",
        (f"{TASK}::test_what_is_written_later_is_not_read",),
    ),
    Mutation(
        "Lance: another table of the same name is read",
        "read/task.py",
        "has is not None and _seen(has) == planned",
        "has is not None",
        (f"{TASK}::test_another_table_at_the_same_path_is_refused",),
    ),
    Mutation(
        "Lance: the last range is cut off",
        "read/predicate.py",
        "    lasts = listed[np.concatenate([cuts, [len(listed) - 1]])]\n",
        "    lasts = listed[np.concatenate([cuts, [len(listed) - 2]])]\n",
        (f"{PREDICATE}::test_a_predicate_keeps_every_id_and_no_null",),
    ),
    Mutation(
        "Lance: a mask loses the upper half of its row ids",
        "read/predicate.py",
        "listed >> 32, return_index",
        "listed >> 33, return_index",
        (f"{PREDICATE}::test_a_mask_has_the_rows_of_the_one_that_lance_makes_itself",),
    ),
)
