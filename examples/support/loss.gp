# Draws the losses of updates.csv, as accrue::csv_writer wrote it in the folder where this is run, as loss.svg.
set datafile separator ','
set terminal svg size 640,360 font 'sans-serif,13' background 'white'
set output 'loss.svg'
stats 'updates.csv' skip 1 using 12 name 'loss' nooutput
if (loss_max > 20 * loss_min) set logscale y; set format y '%g'; else set yrange [0:*]
set autoscale xfix
set xlabel 'updates'
set ylabel 'mean loss of a group'
set grid
set tics nomirror
plot 'updates.csv' skip 1 using 1:12 with lines linewidth 1.5 linecolor rgb '#4686fb' notitle
