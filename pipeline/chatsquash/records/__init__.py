"""Records in the shapes that trainers read, and datasets of records that exist already."""
