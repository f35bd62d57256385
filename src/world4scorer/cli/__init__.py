"""The verbs of `w4s`, one function each. Heavy imports happen inside the verb that needs them."""
