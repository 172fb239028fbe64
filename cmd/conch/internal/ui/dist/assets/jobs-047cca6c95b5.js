import{a,b,c,d}from"./chunk-ff815fc88acd.js";import"./chunk-d555b648c213.js";import"./chunk-2299781db4d5.js";export{d as Older,a as Page,b as Rows,c as useOlder};
