"""Alert policy: rules look at facts and give signals, a state machine makes incidents and messages of them. Pure."""
