"""Training figures, drawn from stored rows. Nothing here imports torch.

store    the schema of a stored run, and reading it
names    datasets, methods and fields: how they are spelt in files and in pictures
studies  every training figure of the paper: panels, and the runs that each of them wants
select   from stored runs to one tidy table a figure
printed  the paper's own numbers as rows of that table
data     a study as the figure registry sees it: state, commands, table
draw     from the table to the picture
"""
