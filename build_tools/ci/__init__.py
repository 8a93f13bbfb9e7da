"""What continuous integration needs beside the stages."""
