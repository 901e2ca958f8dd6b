"""The stages that convert one session; ``chatsquash.session.plan`` defines their order.

A stage takes a stream of entries or a conversation and returns the changed one with its findings. Stages never mutate
their input, because entries share their messages.
"""
