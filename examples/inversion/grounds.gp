# Draws grounds.csv, in the folder where it is, as grounds.svg: the true, the first and the recovered ground.
set datafile separator ','
set terminal svg size 760,720 font 'sans-serif,13' background 'white'
set output 'grounds.svg'
set multiplot layout 3,1 margins 0.12,0.83,0.11,0.95 spacing 0.07
set yrange [*:*] reverse
set xrange [*:*]
set autoscale xfix
set autoscale yfix
set cbrange [1.7:3.2]
set palette defined (0 '#30123b', 1 '#4686fb', 2 '#1be5b5', 3 '#a4fc3c', 4 '#fb7e21', 5 '#7a0403')
set ylabel 'depth, km' offset 1,0
set cblabel 'velocity, km/s'
set tics out nomirror
set xtics format ''
set title 'true' offset 0,-0.7
plot 'grounds.csv' skip 1 using 1:2:3 with image notitle
set title 'at first' offset 0,-0.7
plot 'grounds.csv' skip 1 using 1:2:4 with image notitle
set xtics format '%g'
set xlabel 'distance, km'
set title 'recovered from the waves' offset 0,-0.7
plot 'grounds.csv' skip 1 using 1:2:5 with image notitle
unset multiplot
