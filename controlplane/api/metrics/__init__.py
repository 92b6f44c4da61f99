"""/metrics: `exposition` counts exchanges and joins the families of every other module here."""
