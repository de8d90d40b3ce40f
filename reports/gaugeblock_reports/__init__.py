"""Run records to reports for people (terminal, Markdown) and machines (JUnit XML)."""
