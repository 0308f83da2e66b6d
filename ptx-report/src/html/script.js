document.getElementById("theme").addEventListener("click",function(){
var r=document.documentElement,d=r.dataset.theme||(matchMedia("(prefers-color-scheme: dark)").matches?"dark":"light");
r.dataset.theme=d==="dark"?"light":"dark"});
