"""What becomes a table: arrays, frames, sparse tables, files, folders and Dask."""
