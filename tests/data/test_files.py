"""Every kind of file gives the same objects, in order; a damaged one says where."""

from __future__ import annotations

import gzip
import json

import pyarrow as pa
import pytest
import zstandard
from pyarrow import parquet

from verifier.data import columns_of, count_records, records, shards
from verifier.errors import DataError

OBJECTS = [{"id": f"row-{n}", "response": "x" * n, "ground_truth": [n]} for n in range(1, 40)]
LINES = b"".join(json.dumps(one).encode() + b"\n" for one in OBJECTS)


def parquet_file(path, objects=OBJECTS, rows=7):
    parquet.write_table(pa.Table.from_pylist(objects), path, row_group_size=rows)
    return path


def arrow_file(path, *, stream):
    table = pa.Table.from_pylist(OBJECTS)
    made = pa.ipc.new_stream if stream else pa.ipc.new_file
    with pa.OSFile(str(path), "wb") as file, made(file, table.schema) as writer:
        writer.write_table(table, max_chunksize=5)
    return path


def written(path, data):
    path.write_bytes(data)
    return path


def frames(*parts):
    return b"".join(zstandard.ZstdCompressor().compress(part) for part in parts)


MAKE = {
    "plain": lambda f: written(f / "a.jsonl", LINES),
    "no newline at the end": lambda f: written(f / "a.jsonl", LINES[:-1]),
    "gzip": lambda f: written(f / "a.jsonl.gz", gzip.compress(LINES)),
    "gzip, two members": lambda f: written(
        f / "a.gz", gzip.compress(LINES[:500]) + gzip.compress(LINES[500:])
    ),
    "zstd": lambda f: written(f / "a.jsonl.zst", frames(LINES)),
    "zstd, two frames": lambda f: written(f / "a", frames(LINES[:501], LINES[501:])),
    "parquet": lambda f: parquet_file(f / "a.parquet"),
    "arrow": lambda f: arrow_file(f / "a.arrow", stream=False),
    "arrow stream": lambda f: arrow_file(f / "a.arrow", stream=True),
}


def objects_of(path):
    return [r.data if r.data is not None else json.loads(r.raw) for r in records(path)]


@pytest.mark.parametrize("make", MAKE.values(), ids=MAKE)
def test_every_kind_gives_the_same_objects(make, tmp_path):
    path = make(tmp_path)
    assert objects_of(path) == OBJECTS
    assert [record.line for record in records(path)] == list(range(1, len(OBJECTS) + 1))
    assert {record.file for record in records(path)} == {str(path)}
    assert count_records(path) in (None, len(OBJECTS))


def test_a_folder_is_its_shards_in_order(tmp_path):
    written(tmp_path / "part-1.jsonl.gz", gzip.compress(LINES))
    parquet_file(tmp_path / "part-0.parquet")
    written(tmp_path / "README.md", b"not a shard")
    assert [path.name for path in shards(tmp_path)] == ["part-0.parquet", "part-1.jsonl.gz"]
    assert objects_of(tmp_path) == OBJECTS + OBJECTS


def test_what_the_datasets_library_saved(tmp_path):
    arrow_file(tmp_path / "data-00000-of-00001.arrow", stream=True)
    state = {"_data_files": [{"filename": "data-00000-of-00001.arrow"}]}
    (tmp_path / "state.json").write_text(json.dumps(state))
    (tmp_path / "dataset_info.json").write_text("{}")
    assert objects_of(tmp_path) == OBJECTS


def test_several_splits_have_to_be_chosen_from(tmp_path):
    (tmp_path / "dataset_dict.json").write_text("{}")
    (tmp_path / "train").mkdir()
    (tmp_path / "test").mkdir()
    with pytest.raises(DataError, match=r"test\|train"):
        shards(tmp_path)


def test_an_empty_folder_says_what_it_looks_for(tmp_path):
    with pytest.raises(DataError, match=r"\.parquet"):
        shards(tmp_path)


@pytest.mark.parametrize("pack", [gzip.compress, frames])
def test_a_cut_file_gives_what_stands_before_the_cut_and_says_where_it_ends(tmp_path, pack):
    many = LINES * 2000
    path = written(tmp_path / "cut", pack(many)[:-20])
    found = []
    with pytest.raises(DataError, match=r"damaged after line \d+") as caught:
        found.extend(records(path))
    assert f"after line {len(found)}" in str(caught.value)
    assert [json.loads(r.raw) for r in found] == (OBJECTS * 2000)[: len(found)]


def test_garbage_inside_of_a_compressed_file(tmp_path):
    data = bytearray(gzip.compress(LINES))
    data[40:60] = b"\xff" * 20
    with pytest.raises(DataError, match="damaged"):
        list(records(written(tmp_path / "a.gz", bytes(data))))


def test_a_cut_parquet_file(tmp_path):
    whole = parquet_file(tmp_path / "a.parquet").read_bytes()
    with pytest.raises(DataError, match="not a whole Parquet file"):
        list(records(written(tmp_path / "cut.parquet", whole[:-30])))


def test_columns_are_those_that_every_shard_has(tmp_path):
    parquet_file(tmp_path / "0.parquet")
    parquet_file(tmp_path / "1.parquet", [{"id": "a", "other": 1}])
    assert columns_of(tmp_path) == ("id",)
    assert columns_of(written(tmp_path / "a.jsonl", LINES)) is None


def test_big_rows_are_decoded_few_at_a_time(tmp_path, monkeypatch):
    """Half a gigabyte of cells is not held at once: row groups say how big rows are."""
    sizes = []
    opened = parquet.ParquetFile.iter_batches

    def watched(self, batch_size, **more):
        sizes.append(batch_size)
        return opened(self, batch_size=batch_size, **more)

    monkeypatch.setattr(parquet.ParquetFile, "iter_batches", watched)
    big = [{"id": str(n), "response": str(n) * 4_000_000} for n in range(10)]
    path = tmp_path / "big.parquet"
    parquet.write_table(pa.Table.from_pylist(big), path, compression="none", use_dictionary=False)
    assert [record.data["id"] for record in records(path)] == [one["id"] for one in big]
    assert sizes == [4]
