"""``chatsquash diff``: the sessions in which two results differ, and why."""
