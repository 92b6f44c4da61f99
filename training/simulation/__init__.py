"""Data centres with known truth: worlds, arrivals, physics, and the best split of each minute.

    world, center   what a place is, read from data/worlds
    arrivals        requests per second: a drawn pattern or a real trace
    troubles        machines that are lost, monitoring that fails
    weather         all that does not depend on the split, drawn from a seed
    physics         utilization, response time, throughput
    instruments     what is measured of them
    site            many lanes of one world, minute by minute
    simulator       a whole run as a data set; outputs: as files and facts
    truth           what any split would have given; site_truth: of more than two centers
    tail            what one request in a hundred exceeds

Nothing here asks a strategy or trains.
"""
