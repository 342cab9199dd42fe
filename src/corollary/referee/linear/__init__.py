"""The referee of linear models: is there anything lower than what was called optimal?"""
