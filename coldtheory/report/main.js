"use strict";
startTheme();
startMath();
startFolds();
startFilters();
startExplorer();
