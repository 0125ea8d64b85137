"""The limit stands in the code, whatever the profile says."""

KILLED_BY = "the-arguments-decide"
CAUSE = "hot-accepted"
CHANGES = (
    (
        'self.most = args.get("maxTemperatureCelsius", 85)',
        "self.most = max(85, args.get('maxTemperatureCelsius', 85))",
    ),
)
