"""What is run: the command line, the processes of the service, the lab. The composition root."""
