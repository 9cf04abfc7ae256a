"use strict";
startTheme();
startFilters();
startExplorer();
