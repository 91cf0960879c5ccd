"""om_bus: a WAL, a shared-memory ring that distributes it on one machine, and what watches over both (requirements OMB)."""
