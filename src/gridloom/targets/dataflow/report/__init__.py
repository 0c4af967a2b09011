"""What report and studio show of a mapping: ``load`` measures, ``card`` draws, ``tokens`` steps through a run."""
