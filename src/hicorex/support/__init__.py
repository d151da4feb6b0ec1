"""What everything else leans on: safe text, names, and the private names of other libraries."""
