"use strict";
startTheme();
startFolds();
startFilters();
startExplorer();
