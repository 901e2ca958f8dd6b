"""What chatsquash takes, against what reading takes and against a naive converter; run by ``make bench``."""
