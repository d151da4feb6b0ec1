"""What layers have learned, frozen."""
