"""What a right answer is, one kind a file. An oracle never executes anything of an answer or a suite."""
