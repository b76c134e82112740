"""Alerts: rules over what is stored, their states, who is told, and who asked for silence."""
