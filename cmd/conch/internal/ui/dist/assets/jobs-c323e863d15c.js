import{a,b,c,d}from"./chunk-7ff40b457323.js";import"./chunk-2a4261848fdc.js";import"./chunk-85b91dd54ef6.js";import"./chunk-b3fdea43aaba.js";export{d as Older,a as Page,b as Rows,c as useOlder};
