"""Private suites: cases of a customer's own, what a right answer is, and the statistics of answers to them."""
