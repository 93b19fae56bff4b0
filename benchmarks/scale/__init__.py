"""How many hosts a load needs: a capacity model, and a simulation of many hosts."""
