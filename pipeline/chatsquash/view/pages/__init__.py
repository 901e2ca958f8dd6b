"""The pages of the viewer, one module each: functions that take a result or a record and return HTML."""
