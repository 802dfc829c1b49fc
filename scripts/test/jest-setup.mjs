// Every Redis store of every test, and of every process a test starts, compares the script's answers with the kernels'
// (see redisStore's `check`).
process.env['SLUICE_CHECK'] = '1';
