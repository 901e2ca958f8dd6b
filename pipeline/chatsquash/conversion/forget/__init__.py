"""``chatsquash forget``: write a result again without some of its sessions."""
