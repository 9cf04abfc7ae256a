"use strict";
startTheme();
startMath();
startFilters();
startFolds();
startStory();
startExplorer();
